-- finding: info start-delayed
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 2), ('wait', 'unknown', NULL, 98);
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('launch', '0', 'late_seconds', 97, 's');
