-- finding: critical rank-missing
-- says: Rank 5 has not entered
-- says: all_reduce number 118
-- says: completed is number 117
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('flight/missing', '0 5', 'sequence', 118, NULL),
    ('flight/missing', '0 5', 'operation', NULL, 'all_reduce'),
    ('flight/missing', '0 5', 'behind', 2, NULL),
    ('flight/rank', '0 5', 'last_completed', 117, NULL);
