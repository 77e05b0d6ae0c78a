"""The seeded trouble maker: same seed, same trouble, and about as much as was asked for."""

from pico_gz.testing.chaos import Chaos, ChaosRules, Direction

N = 20_000


def fates(chaos: Chaos, direction: Direction, count: int = 2000) -> list[object]:
    return [chaos.copies(direction, f"datagram {i}".encode()) for i in range(count)]


def test_the_same_seed_gives_the_same_fates() -> None:
    rules = ChaosRules(loss=0.1, duplicate=0.2, reorder=0.3, corrupt=0.1)
    first, second, other = (
        Chaos(seed=seed, to_client=rules, to_simulator=rules) for seed in (1, 1, 2)
    )
    expected = fates(first, Direction.TO_CLIENT)
    assert fates(second, Direction.TO_CLIENT) == expected
    assert fates(other, Direction.TO_CLIENT) != expected


def test_directions_are_independent() -> None:
    rules = ChaosRules(loss=0.5)
    chaos = Chaos(seed=1, to_simulator=rules)
    assert len([x for x in fates(chaos, Direction.TO_CLIENT) if not x]) == 0
    alone = Chaos(seed=1, to_simulator=rules)
    assert fates(chaos, Direction.TO_SIMULATOR) == fates(alone, Direction.TO_SIMULATOR)


def test_shares_are_met() -> None:
    rules = ChaosRules(loss=0.2, duplicate=0.3, reorder=0.25, corrupt=0.1)
    chaos = Chaos(seed=3, to_client=rules)
    fates(chaos, Direction.TO_CLIENT, N)
    assert abs(chaos.lost / N - 0.2) < 0.02
    assert abs(chaos.duplicated / N - 0.8 * 0.3) < 0.02
    assert abs(chaos.delayed / N - 0.8 * 0.25) < 0.02
    assert abs(chaos.corrupted / N - 0.8 * 0.1) < 0.02


def test_corruption_changes_one_byte_and_delays_stay_in_bounds() -> None:
    chaos = Chaos(seed=4, to_client=ChaosRules(corrupt=1.0, reorder=1.0, delay_s=0.01))
    for _ in range(200):
        ((delay_s, data),) = chaos.copies(Direction.TO_CLIENT, b"0123456789")
        assert sum(a != b for a, b in zip(data, b"0123456789", strict=True)) == 1
        assert 0.01 <= delay_s <= 0.06
    assert chaos.copies(Direction.TO_CLIENT, b"")[0][1] == b""


def test_trouble_by_simulation_time() -> None:
    chaos = Chaos(seed=5, to_client=ChaosRules(loss=1.0), from_sim_s=1.0, until_sim_s=2.0)
    passed = [
        bool(chaos.copies(Direction.TO_CLIENT, b'{"timestamp":%d.5}' % second))
        for second in range(4)
    ]
    assert passed == [True, False, True, True]


def test_a_cut_cable_passes_nothing() -> None:
    chaos = Chaos(blocked=True)
    assert chaos.copies(Direction.TO_SIMULATOR, b"x") == []
    chaos.blocked = False
    assert chaos.copies(Direction.TO_SIMULATOR, b"x") == [(0.0, b"x")]
