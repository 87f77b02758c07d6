-- absent: collective-mismatch
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('flight', '', 'mismatches', 0, NULL);
