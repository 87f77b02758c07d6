-- A job in C, with one thread that decodes: no word of PyTorch's.
-- finding: warning loader-few-workers
-- says: Raise the number of loader workers from 1 to 
-- silent: num_workers
-- silent: DataLoader
-- silent: prefetch_factor
-- silent: Pillow
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 30), ('wait', 'prepare', NULL, 70);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('loader', '', 'workers', 1, 'count'), ('loader', '', 'depth', 1, 'count'), ('job', '', 'cores_spare', 6, 'count'),
    ('job', '', 'torch', 0, '1'), ('job', '', 'python', 0, '1');
