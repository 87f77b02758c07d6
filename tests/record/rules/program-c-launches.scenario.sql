-- A job in C that launches slowly, and runs code of its own between.
-- finding: warning launch-bound
-- finding: warning host-bound
-- says: perf top -p PID
-- silent: torch
-- silent: .item()
-- silent: py-spy
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'launch', NULL, 28), ('wait', 'host', NULL, 30), ('wait', 'startup', NULL, 16);
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('job', '', 'torch', 0, '1'), ('job', '', 'python', 0, '1');
