# SPDX-License-Identifier: Apache-2.0
"""The checks of arguments, which need PyTorch but no GPU. Run with `-m gpu`."""
import pytest

import cubinet

torch = pytest.importorskip("torch")

from cubinet.pytorch.arguments import check_rank, mask_of, refuse_given, refuse_gradients, window_of  # noqa: E402

pytestmark = pytest.mark.gpu


def test_windows_and_masks_are_those_of_flash_attention():
    assert mask_of(True, (-1, -1), 4) == ("causal", 0)
    assert mask_of(False, (-1, -1), 4) == ("dense", 0)
    assert mask_of(False, (-1, -1), 1) == ("causal", 0)
    assert mask_of(False, (7, 0), 4) == ("causal", 8)
    assert mask_of(True, (0, 5), 4) == ("causal", 1)
    for window in ((7, -1), (7, 3), (-1, 3)):
        with pytest.raises(cubinet.Unsupported, match="'window_size'"):
            mask_of(False, window, 4)
    assert window_of([3, 0]) == (3, 0)
    for wrong in (3, "ab", (1, 2, 3), None):
        with pytest.raises(cubinet.InvalidArgument, match="'window_size'"):
            window_of(wrong)


def test_what_no_kernel_has_is_refused():
    refuse_given("f", alibi_slopes=None)
    with pytest.raises(cubinet.Unsupported, match="f: no kernel has 'alibi_slopes'"):
        refuse_given("f", alibi_slopes=0)


def test_gradients_are_refused_only_while_they_are_recorded():
    wanted = torch.zeros(2, requires_grad=True)
    with pytest.raises(cubinet.Unsupported, match="'k' needs a gradient"):
        refuse_gradients(q=None, k=wanted)
    with torch.no_grad():
        refuse_gradients(k=wanted)


def test_a_wrong_number_of_dimensions_is_named():
    check_rank("q", torch.zeros(1, 2), "batch, heads")
    with pytest.raises(cubinet.InvalidArgument, match=r"'q' has the shape \[2\]; expected \[batch, heads\]"):
        check_rank("q", torch.zeros(2), "batch, heads")
