"""Releases as answers to measurements that were not made: post-processing, which costs nothing."""
