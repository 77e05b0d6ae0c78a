from truths import truth, view_of

from pico_gz.view.live import BUDGET, Trails


def test_points_are_apart_and_in_centimetres():
    trails = Trails()
    for north_m in (0.0, 0.05, 0.1, 0.25, 0.3, 0.5):
        trails.add(view_of(truth(1, north_m=north_m, east_m=-1.0)))
    assert trails.flat() == {1: [0, -100, 25, -100, 50, -100]}


def test_a_large_fleet_stays_in_its_budget():
    trails = Trails()
    for step in range(100):
        trails.add(view_of(*(truth(i, north_m=float(step)) for i in range(1, 256))))
    assert sum(map(len, trails.flat().values())) <= 2 * BUDGET
    assert trails.flat()[255][-2] == 9900  # the newest are kept


def test_the_trail_of_an_aircraft_is_kilometres_long():
    trails = Trails()
    for step in range(20_000):
        trails.add(view_of(truth(1, north_m=0.45 * step, velocity=(45.0, 0.0, 0.0))))
    north_cm = trails.flat()[1][::2]
    assert north_cm[-1] - north_cm[0] > 500_000
