import os
import threading
from importlib import import_module

import numpy as np
import pytest

from blowfish_privacy import noise
from blowfish_privacy.testing.seeded import SeededSource

pytestmark = pytest.mark.fresh_bits

discrete_laplace = import_module("blowfish_privacy.noise.laplace")
discrete_gaussian = import_module("blowfish_privacy.noise.gaussian")
# Equal arrays by chance: 64 draws at scale 10^9, or sigma^2 10^9, agree with a probability below (1 / 10^4)^64.
SCALE, COUNT = 10**9, 64


def test_the_system_source_says_what_it_is() -> None:
    source: noise.BitSource = noise.SystemSource()
    assert source.private
    assert source.kind == "operating system"
    assert source.words(5).dtype == np.uint32
    assert len(source.words(5)) == 5


def test_the_system_source_sets_every_bit_half_of_the_time() -> None:
    """False-alarm rate: 32 bits, each a binomial of 100,000 that misses by 7.5 deviations: 32 x 7e-14."""
    words = noise.SystemSource().words(100_000)
    share = [np.mean((words >> np.uint32(bit)) & np.uint32(1)) for bit in range(32)]
    assert np.abs(np.array(share) - 0.5).max() < 7.5 * 0.5 / np.sqrt(100_000)


def test_the_seeded_source_repeats_itself_and_admits_it() -> None:
    source: noise.BitSource = SeededSource(7)
    assert not source.private
    assert "not private" in source.kind
    assert np.array_equal(source.words(9), SeededSource(7).words(9))
    assert not np.array_equal(SeededSource(7).words(9), SeededSource(8).words(9))
    with pytest.raises(TypeError):
        SeededSource()  # no default seed


def test_seeded_noise_repeats_and_system_noise_does_not() -> None:
    for draw in (noise.discrete_laplace, noise.discrete_gaussian):
        seeded = [draw(SCALE, COUNT, source=SeededSource(7)) for _ in range(2)]
        system = [draw(SCALE, COUNT) for _ in range(2)]
        assert np.array_equal(*seeded)
        assert not np.array_equal(*system)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_draw_different_noise() -> None:
    noise.discrete_laplace(SCALE, COUNT)  # the tables are in the cache before the fork
    drawn = [_drawn_in_a_fork(), _drawn_in_a_fork(), noise.discrete_laplace(SCALE, COUNT).tobytes()]
    assert len({*drawn}) == 3
    assert {len(noise_bytes) for noise_bytes in drawn} == {8 * COUNT}


def _drawn_in_a_fork() -> bytes:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, noise.discrete_laplace(SCALE, COUNT).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = pipe.read()
    os.waitpid(child, 0)
    return received


@pytest.mark.parametrize(
    ("sampler", "tables"),
    [(noise.discrete_laplace, discrete_laplace._sampler), (noise.discrete_gaussian, discrete_gaussian._sampler)],
)
def test_threads_share_tables_but_no_noise(sampler, tables) -> None:
    tables.cache_clear()
    drawn: list[bytes] = []
    barrier = threading.Barrier(8)

    def draw() -> None:
        barrier.wait()
        drawn.append(sampler(SCALE, COUNT).tobytes())

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 8
    assert tables.cache_info().currsize == 1
