from hangview.dumps.replicas import shifted, shifts


def test_two_replicas_of_two():
    assert shifts([0, 1, 2, 3], [(0, 1)] * 4, None) == (2, [0, 0, 2, 2])
    assert shifts([3, 0, None, 2], [(1, 0), (0, 1), None, (0, 1)], None) == (2, [2, 0, 0, 2])


def test_ordinary_jobs_are_left_alone():
    world = tuple(range(4))
    assert shifts([0, 1, 2, 3], [world] * 4, None) == (0, [0, 0, 0, 0])
    assert shifts([0, 1], [None, None], None) == (0, [0, 0])
    assert shifts([], [], None) == (0, [])


def test_dumps_of_two_world_sizes_are_no_replicas():
    assert shifts([0, 1, 5], [(0, 1), (0, 1), tuple(range(8))], None)[0] == 0


def test_members_that_are_not_numbered_from_0_are_no_replica():
    assert shifts([0, 1, 4, 5], [(2, 3)] * 4, None)[0] == 0


def test_the_user_decides():
    assert shifts([0, 1, 5], [None, (0, 1, 2, 3), (0, 1, 2, 3)], 4) == (4, [0, 0, 4])


def test_only_a_replicas_own_numbers_move():
    assert shifted((0, 1), 2, 3, 2) == (2, 3)
    assert shifted((1,), 2, 3, 2) == (3,)
    assert shifted((0,), 2, 3, 2) == (0,)  # rank 3 is number 1 of its replica: not its group
    assert shifted((1, 3), 2, 3, 2) == (1, 3)  # numbers over all replicas
    assert shifted((0, 1), 2, 1, 0) == (0, 1)
    assert shifted((), 2, 3, 2) == ()
