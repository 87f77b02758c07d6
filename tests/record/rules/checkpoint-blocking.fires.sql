-- finding: warning checkpoint-blocking
-- first: checkpoint-blocking
-- says: written to disk sda
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 90), ('wait', 'checkpoint', 'disk sda', 6), ('wait', 'host', NULL, 4);
