-- finding: warning host-bound
-- first: host-bound
-- says: reads its data itself: there are no loader workers
-- says: DataLoader(..., num_workers=2)
-- silent: if they make batches
-- verdict: Speed up the loading of data, by workers, first: up to 2.4×
-- What it reads lies in the page cache: no wait shows that the launching thread decodes its own batches.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'host', NULL, 58), ('wait', 'launch', NULL, 2);
INSERT INTO fact (kind, name, number, unit) VALUES
    ('job', 'own_read_rate', 4e6, 'bytes/s'), ('job', 'cores_allowed', 2, 'count'), ('job', 'torch', 1, '1'), ('job', 'python', 1, '1');
