"""A scripted player of the bundled environments: seeded, imperfect, and no language model."""
