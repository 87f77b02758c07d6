-- absent: rank-missing
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('flight', '', 'missing', 0, NULL),
    ('flight/rank', '0 5', 'last_completed', 117, NULL),
    ('ras/missing', '0xab 7', 'dead', 0, NULL);
