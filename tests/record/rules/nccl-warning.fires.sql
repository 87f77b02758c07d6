-- finding: critical nccl-warning
-- says: ulimit -l unlimited
-- says: Call to ibv_reg_mr failed
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl/warning', 'memlock', 'count', 3, NULL),
    ('nccl/warning', 'memlock', 'text', NULL, 'Call to ibv_reg_mr failed with error Cannot allocate memory'),
    ('nccl/warning', 'memlock', 'host', NULL, 'node1');
