# SPDX-License-Identifier: Apache-2.0
"""Tensors on a device that is not there: objects with `__dlpack__`, whose capsules others consume."""
import ctypes

from exchange import DLTensor, Tensor


class DLManagedTensor(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))
DLManagedTensor._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


@DELETER
def _keep(_managed):
    """The Python object owns everything, so nothing is freed."""


class DlpackTensor:
    """A tensor of this shape at an address that nothing reads. Keep it as long as what was made of it."""

    def __init__(self, *arguments, **options):
        self._described = Tensor(*arguments, **options).described
        self._managed = DLManagedTensor(self._described, None, _keep)

    def __dlpack_device__(self):
        return self._described.device_type, self._described.device_id

    def __dlpack__(self, **_options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._managed), b"dltensor", None)
