"""Module classes of flax, equinox and haiku, and what calling one of their layers does beside computing.

What layers do was measured on flax 0.12, equinox 0.13 and haiku 0.0.17 with JAX 0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Kind = Literal["linen", "nnx", "equinox", "haiku"]

_PREFIXES: tuple[tuple[str, Kind], ...] = (
    ("flax.linen.", "linen"),
    ("flax.nnx.", "nnx"),
    ("flax.experimental.nnx.", "nnx"),
    ("equinox.nn.", "equinox"),
    ("equinox.", "equinox"),
    ("haiku.nets.", "haiku"),
    ("haiku.", "haiku"),
)

PUBLIC: Mapping[Kind, str] = MappingProxyType(
    {"linen": "flax.linen", "nnx": "flax.nnx", "equinox": "equinox", "haiku": "haiku"}
)
"""The package whose name code writes in front of a framework's functions."""


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CELLS = "ConvLSTMCell GRUCell LSTMCell MGUCell OptimizedLSTMCell SimpleCell"
LINEN_PARAMETERS = _names(
    "BatchNorm Conv ConvLocal ConvTranspose Dense DenseGeneral Einsum Embed GroupNorm InstanceNorm LayerNorm "
    "MultiHeadAttention MultiHeadDotProductAttention PReLU RMSNorm SelfAttention SpectralNorm WeightNorm "
) | _names(_CELLS)
"""Layers of linen whose call makes parameters, or variables, the first time."""

_LINEN_PLAIN = _names("Module Dropout Sequential RNN Bidirectional RNNCellBase")

HAIKU_PARAMETERS = _names(
    "BatchNorm Bias Conv1D Conv1DLSTM Conv1DTranspose Conv2D Conv2DLSTM Conv2DTranspose Conv3D Conv3DLSTM "
    "Conv3DTranspose ConvND ConvNDTranspose DepthwiseConv1D DepthwiseConv2D DepthwiseConv3D Embed "
    "ExponentialMovingAverage GRU GroupNorm InstanceNorm LSTM LayerNorm Linear MultiHeadAttention RMSNorm "
    "SeparableDepthwiseConv2D SpectralNorm VanillaRNN MLP MobileNetV1 ResNet ResNet18 ResNet34 ResNet50 ResNet101 "
    "ResNet152 ResNet200 VectorQuantizer VectorQuantizerEMA"
)
"""Modules of haiku whose call makes parameters or state the first time."""

_HAIKU_PLAIN = _names(
    "Module AvgPool MaxPool Flatten Reshape RNNCore DeepRNN ResetCore IdentityCore Sequential EMAParamsTree SNParamsTree"
)

NNX_STATE: Mapping[str, str] = MappingProxyType(
    {
        "BatchNorm": "its running statistics",
        "Dropout": "the count of its random keys",
        "SpectralNorm": "its estimate of the norm",
        "WeightNorm": "the weights that it scales",
    }
)
"""Layers of nnx that write to their own variables when they are called in training."""

_NNX_PLAIN = _names(
    "Module Bidirectional Conv ConvTranspose Dict Einsum Embed GroupNorm InstanceNorm LayerNorm Linear LinearGeneral "
    "List LoRA LoRALinear MultiHeadAttention PReLU RMSNorm RNN RNNCellBase RoPE Sequential GRUCell LSTMCell "
    "OptimizedLSTMCell SimpleCell"
)

EQUINOX_FUNCTIONS = _names(
    "Lambda MLP WeightNorm AdaptivePool AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d Pool"
)
"""Layers of equinox that keep a function among their leaves."""

EQUINOX_FLAGS = _names("Dropout MultiheadAttention")
"""Layers of equinox that branch on a bool among their leaves."""

EQUINOX_ARRAYS = _names(
    "BatchNorm Conv Conv1d Conv2d Conv3d ConvTranspose ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding GRUCell "
    "GroupNorm LSTMCell LayerNorm Linear MLP MultiheadAttention PReLU RMSNorm SpectralNorm WeightNorm"
)
"""Layers of equinox that hold arrays, so that they have no hash."""

_EQUINOX_PLAIN = _names(
    "Module Identity RotaryPositionalEmbedding Sequential Shared StateIndex StatefulLayer"
)

LAYERS: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        "linen": LINEN_PARAMETERS | _LINEN_PLAIN,
        "nnx": frozenset(NNX_STATE) | _NNX_PLAIN,
        "equinox": EQUINOX_FUNCTIONS | EQUINOX_FLAGS | EQUINOX_ARRAYS | _EQUINOX_PLAIN,
        "haiku": HAIKU_PARAMETERS | _HAIKU_PLAIN,
    }
)
"""Module classes of each framework by their last name."""

HAIKU_KEYS = frozenset(f"haiku.{name}" for name in ("next_rng_key", "next_rng_keys", "maybe_next_rng_key"))
"""Functions of haiku that advance the state of the random keys."""

HAIKU_MAKERS = frozenset({"haiku.get_parameter", "haiku.set_state"})
"""Functions of haiku that keep what they make, or are given, beyond the call."""

LINEN_MAKERS = frozenset({"param", "put_variable", "perturb", "sow"})
"""Methods of a linen module that keep what they make, or are given, beyond the call."""

_INTERNAL = ("flax.linen.module.", "flax.nnx.module.", "equinox._module.", "haiku._src.module.")


def layer_kind(dotted: str) -> Kind | None:
    """Return the framework whose module class `dotted` is, or None."""
    head, _, last = dotted.rpartition(".")
    for prefix, kind in _PREFIXES:
        inside = f"{head}." == prefix or (last == "Module" and dotted.startswith(_INTERNAL))
        if inside and dotted.startswith(prefix) and last in LAYERS[kind]:
            return kind
    return None
