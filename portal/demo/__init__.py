"""A living demonstration: a fleet of simulated nodes, a few people, and the main job run through the public API."""
