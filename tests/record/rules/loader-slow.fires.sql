-- finding: warning loader-slow
-- first: loader-slow
-- absent: prepare-cpu-bound
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'prepare', 'the DataLoader''s workers', 40);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('trace', '1', 'tool', 'PyTorch profiler', '');
