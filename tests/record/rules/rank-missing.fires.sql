-- finding: critical rank-missing
-- says: Rank 5 has not entered
-- says: all_reduce number 118
-- says: process 4711 on node2
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('flight/missing', '0 5', 'sequence', 118, NULL),
    ('flight/missing', '0 5', 'operation', NULL, 'all_reduce'),
    ('flight/missing', '0 5', 'behind', 2, NULL),
    ('flight/rank', '0 5', 'last_completed', 117, NULL),
    ('ras/missing', '0xab 7', 'dead', 1, NULL),
    ('ras/missing', '0xab 7', 'unresponsive', 1, NULL),
    ('ras/missing', '0xab 7', 'pid', 4711, NULL),
    ('ras/missing', '0xab 7', 'host', NULL, 'node2');
