-- first: healthy
-- absent: checkpoint-blocking
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 96), ('wait', 'checkpoint', 'disk sda', 4);
