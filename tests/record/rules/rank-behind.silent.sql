-- absent: rank-behind
-- Small differences come and go.
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('ras/comm', '0xab', 'behind', 1, NULL),
    ('ras/comm', '0xab', 'behind_rank', 3, NULL);
