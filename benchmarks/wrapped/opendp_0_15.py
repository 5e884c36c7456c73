"""OpenDP 0.15.1: noisy max of four counts that a row raises or lowers by one."""

import opendp.prelude as dp

dp.enable_features("contrib")
SCORES = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
CONCENTRATED = dp.m.make_noisy_max(*SCORES, dp.zero_concentrated_divergence(), scale=1.0)  # rho 0.5
FLIPPED = dp.m.make_noisy_max(*SCORES, dp.max_divergence(), scale=1.0)  # as concentrated: rho above 0.5
PURE = dp.m.make_noisy_max(*SCORES, dp.max_divergence(), scale=2.0)  # epsilon 1


def _scores(data):
    return [int(data[:, column].sum()) for column in range(data.shape[1])]


def concentrated_noisy_max(data):
    return CONCENTRATED(_scores(data))


def permute_and_flip(data):
    return FLIPPED(_scores(data))


def noisy_max(data):
    return PURE(_scores(data))
