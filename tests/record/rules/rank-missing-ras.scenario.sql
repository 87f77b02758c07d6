-- finding: critical rank-missing
-- says: Ranks 7, 9 do not answer: dead
-- says: process 4711 on node2
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('ras/missing', '0xab 7', 'dead', 1, NULL), ('ras/missing', '0xab 7', 'unresponsive', 1, NULL),
    ('ras/missing', '0xab 7', 'pid', 4711, NULL), ('ras/missing', '0xab 7', 'host', NULL, 'node2'),
    ('ras/missing', '0xab 9', 'dead', 0, NULL), ('ras/missing', '0xab 9', 'unresponsive', 1, NULL);
