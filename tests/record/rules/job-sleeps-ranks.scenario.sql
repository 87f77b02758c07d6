-- finding: warning job-sleeps
-- first: job-sleeps
-- absent: rank-late
-- Both ranks sleep at the same time; what one of them is late by that is next to nothing.
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 60, 0), ('wait', 'sleep', NULL, 39, 0), ('wait', 'late-peer', 'vm:57510', 1, 0),
    ('compute', NULL, NULL, 60, 1), ('wait', 'sleep', NULL, 40, 1);
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('late', '1', 'sleep', 1, 's');
