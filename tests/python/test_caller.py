# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

import cubinet
from cubinet import _core


def current():
    label = _core.set_caller("")
    _core.set_caller(label)
    return label


def test_the_innermost_label_counts_and_ends_with_its_scope():
    with cubinet.caller("prefill"):
        with pytest.raises(RuntimeError), cubinet.caller("decode"):
            assert current() == "decode"
            raise RuntimeError
        assert current() == "prefill"
    assert current() == ""


def test_a_label_belongs_to_its_thread():
    seen = []
    with cubinet.caller("decode"):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert seen == [""]


def test_a_long_label_is_cut():
    with cubinet.caller(63 * "a" + "\u20ac"):
        assert current() == 63 * "a"
