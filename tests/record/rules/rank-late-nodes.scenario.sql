-- finding: warning rank-late
-- absent: network-service-slow
-- Started by srun on two nodes; the script tells torch.distributed its size itself.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'late-peer', '10.0.0.7:41000', 39), ('wait', 'host', NULL, 1);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('env', 'SLURM_NNODES', 'value', '2', ''),
    ('env', 'SLURM_NTASKS', 'value', '2', '');
