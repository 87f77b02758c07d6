-- first: healthy
-- absent: launch-bound
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 94), ('wait', 'launch', NULL, 6);
INSERT INTO fact (kind, subject, name, number) VALUES ('launch', '0', 'count', 150000);
