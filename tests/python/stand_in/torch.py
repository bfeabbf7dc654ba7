# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as cubinet.flash_attn needs, with tensors at addresses that nothing reads."""
import math
import types

_SIZES = {"bfloat16": 2, "float16": 2, "float32": 4, "int32": 4, "int64": 8, "uint8": 1, "float8_e4m3fn": 1}
_next = [1 << 32]


class dtype:  # noqa: N801
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name

    __repr__ = __str__


for _name in _SIZES:
    globals()[_name] = dtype(_name)


class Tensor:
    requires_grad, is_cuda = False, True
    device = types.SimpleNamespace(type="cuda", index=0)

    def __init__(self, *shape, dtype=None, strides=None, address=None):
        self.shape, self.dtype = shape, dtype or globals()["bfloat16"]
        self._strides = strides or tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
        if address is None:
            address = _next[0]
            _next[0] += -(-math.prod(shape) * _SIZES[self.dtype.name] // 4096) * 4096 + 4096
        self._address = address
        self.filled = None

    def data_ptr(self):
        return self._address

    def stride(self, axis=None):
        return self._strides if axis is None else self._strides[axis]

    def dim(self):
        return len(self.shape)

    def get_device(self):
        return 0

    def new_empty(self, shape, dtype=None):
        return Tensor(*shape, dtype=dtype or self.dtype)

    def zero_(self):
        self.filled = 0.0

    def fill_(self, value):
        self.filled = value

    def copy_(self, other):
        self.filled = other

    def __getitem__(self, row):
        return Tensor(*self.shape[1:], dtype=self.dtype, strides=self._strides[1:], address=self._address)

    def contiguous(self):
        return self

    def transpose(self, a, b):
        shape, strides = list(self.shape), list(self._strides)
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
        made = Tensor(*shape, dtype=self.dtype, strides=tuple(strides), address=self._address)
        made.filled = self.filled
        return made

    def flatten(self, first, _last):
        assert first == 0
        return self.view((self.shape[0] * self.shape[1], *self.shape[2:]))

    def view(self, shape):
        made = Tensor(*shape, dtype=self.dtype, address=self._address)
        made.filled = self.filled
        return made

    def reshape(self, *shape):
        return self.view(shape)

    def float(self):
        return Tensor(*self.shape, dtype=globals()["float32"])

    def __mul__(self, _number):
        return self


def empty(count, dtype=None, device=None):
    return Tensor(count, dtype=dtype)


arange = zeros = empty


def empty_like(other, dtype=None):
    return other.new_empty(other.shape, dtype=dtype)


ones_like = empty_like


def diff(offsets):
    return Tensor(offsets.shape[0] - 1, dtype=offsets.dtype)


def is_grad_enabled():
    return True


class _Anything:
    """Accepts every call, as libraries of operators do."""

    def __init__(self, *_arguments, **_options):
        pass

    def __getattr__(self, name):
        return _Anything()

    def __call__(self, *_arguments, **_options):
        return self


__version__ = "2.11"
_C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0, _cuda_getDevice=lambda: 0)
cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: False, current_device=lambda: 0)
compiler = types.SimpleNamespace(is_compiling=lambda: False)
library = types.SimpleNamespace(Library=_Anything, register_fake=_Anything())
ops = _Anything()
