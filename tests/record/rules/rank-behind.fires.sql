-- finding: warning rank-behind
-- says: Rank 3 has launched 12
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('ras/comm', '0xab', 'behind', 12, NULL),
    ('ras/comm', '0xab', 'behind_rank', 3, NULL);
