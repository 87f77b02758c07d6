-- finding: warning host-bound
-- first: host-bound
-- says: most of all aten::nonzero
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'host', 'aten::nonzero', 25), ('wait', 'host', NULL, 15);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('trace', '1', 'tool', 'PyTorch profiler', '');
