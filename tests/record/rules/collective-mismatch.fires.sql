-- finding: critical collective-mismatch
-- says: all_reduce against all_gather
-- says: rank 3
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('flight/mismatch', '0 17', 'what', NULL, 'operation'),
    ('flight/mismatch', '0 17', 'operation', NULL, 'all_reduce'),
    ('flight/mismatch', '0 17', 'other', NULL, 'all_gather'),
    ('flight/mismatch', '0 17', 'ranks', NULL, '3');
