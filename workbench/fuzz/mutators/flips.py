"""Configuration: the same program under dynamic shapes, other vector widths, threads, passes switched. Two settings that disagree are a finding."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

FLIPS: tuple[tuple[str, dict[str, object]], ...] = (
    ("dynamic", {"dynamic": True}),
    ("dynamic", {"dynamic": True}),
    ("static", {"dynamic": False}),
    ("grad", {"grad": True}),
    ("grad", {"grad": True}),
    ("threads", {"threads": 2}),
    ("scalar", {"inductor": {"cpp.simdlen": 1}}),
    ("simd256", {"inductor": {"cpp.simdlen": 256}}),
    ("no_epilogue", {"inductor": {"epilogue_fusion": False}}),
    ("no_patterns", {"inductor": {"pattern_matcher": False}}),
    ("freezing", {"inductor": {"freezing": True}}),
    ("emulate", {"inductor": {"emulate_precision_casts": True}}),
    ("no_reorder", {"inductor": {"reorder_for_locality": False}}),
    ("split_reductions", {"inductor": {"split_reductions": False}}),
    ("keep_output_stride", {"inductor": {"keep_output_stride": False}}),
    ("fullgraph", {"fullgraph": True}),
    ("capture_scalars", {"dynamo": {"capture_scalar_outputs": True}}),
    ("capture_dynamic", {"dynamo": {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}}),
    ("unspecialise", {"dynamo": {"specialize_int": False, "assume_static_by_default": False}}),
    ("inplace", {"inductor": {"inplace_buffers": False}}),
    ("reorder_peak", {"inductor": {"reorder_for_peak_memory": False}}),
    ("comprehensive_padding", {"inductor": {"comprehensive_padding": False}}),
    ("group_fusion", {"inductor": {"cpp.enable_grouped_gemm_template": True}}),
    ("tiling", {"inductor": {"cpp.enable_tiling_heuristics": False}}),
    ("loop_split", {"inductor": {"cpp.enable_loop_tail_vec": False}}),
    ("aggressive", {"inductor": {"aggressive_fusion": True}}),
    ("max_fusion", {"inductor": {"max_fusion_size": 1}}),
    ("layout", {"inductor": {"layout_optimization": False}}),
)


@mutator("configuration_flip", "configuration-flips")
def configuration_flip(subject: Subject, draw: Draw) -> str | None:
    """One or two settings away from the default."""
    words = []
    for word, change in draw.sample(FLIPS, draw.whole(1, 2)):
        subject.configure(**change)
        words.append(word)
    return "+".join(words)
