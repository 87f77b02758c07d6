-- A job in C whose launching thread loads, copies from pageable memory, takes a lock and sleeps.
-- finding: warning loader-no-workers
-- finding: warning copy-pageable
-- finding: warning lock-held
-- finding: warning job-sleeps
-- finding: warning checkpoint-blocking
-- finding: warning memory-reclaim
-- says: (threads or processes)
-- says: cudaHostAlloc
-- says: sleep and nanosleep
-- silent: num_workers
-- silent: DataLoader
-- silent: torch
-- silent: Python
-- silent: time.sleep
-- silent: pin_memory
-- silent: prefetch_factor
-- silent: persistent_workers
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 10), ('wait', 'prepare', NULL, 20), ('copy', 'pageable-copy', NULL, 14),
    ('wait', 'lock', NULL, 14), ('wait', 'sleep', NULL, 14), ('wait', 'checkpoint', 'disk sda', 14), ('wait', 'memory', NULL, 14);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('loader', '', 'in_main', 1, '1'), ('job', '', 'cores_spare', 6, 'count'),
    ('job', '', 'torch', 0, '1'), ('job', '', 'python', 0, '1');
