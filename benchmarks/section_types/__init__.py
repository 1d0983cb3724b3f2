"""Which type should a section be? 750 facts in 90 classes and 30 modules, generated for each candidate.

Run by `python -m benchmarks.section_types`; docs/decisions/0001-section-type.md holds the answer.
"""
