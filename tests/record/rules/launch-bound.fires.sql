-- finding: warning launch-bound
-- first: launch-bound
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'launch', NULL, 55), ('wait', 'host', NULL, 5);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('launch', '0', 'count', 150000, 'count'), ('launch', '0', 'mean_kernel_us', 8, 'us');
