-- SPDX-License-Identifier: MIT
-- id: copy-link
-- severity: warning
-- title: The GPU waits for copies over its link to the host{_at}{_expected}
-- why: For {share} of the time nothing ran on the GPU but copies that were not from pageable
--   memory.
-- fix: {_together}{_look}Copy less (what is offloaded to the host is copied back every time), use
--   a smaller data type, and copy the next part on its own stream while the GPU computes.
-- first: Reduce copies over PCIe or NVLink
-- scenario: away link
-- source: doc/rules.md#copy-link
WITH per AS (
    SELECT b.subject, b.number AS bytes, s.number AS seconds, e.number AS expected, e.text AS link
    FROM fact b JOIN fact s ON s.kind = 'copy' AND s.subject = b.subject AND s.name = 'large_seconds'
    LEFT JOIN (SELECT r.subject, r.number, l.text FROM fact r JOIN fact l ON l.kind = 'copy'
                   AND l.subject = r.subject AND l.name = 'link' AND r.name = 'link_rate'
               WHERE r.kind = 'copy') e ON e.subject = b.subject
    WHERE b.kind = 'copy' AND b.name = 'large_bytes' AND s.number > 0),
seen AS (SELECT sum(bytes) / sum(seconds) AS rate, sum(bytes) AS bytes, min(expected) AS expected,
                min(link) AS link, count(*) AS devices FROM per),
-- The most accelerators that did nothing but copy in the same window.
windows AS (SELECT max(r.t0) - min(r.t0) AS ns, max(count(DISTINCT r.t0), 2) AS n
            FROM ledger_row r GROUP BY r.accelerator),
at_once AS (
    SELECT max(n) AS n FROM (
        SELECT count(*) AS n FROM (
            SELECT r.t0 / w.step AS t, r.accelerator AS a,
                   total(r.ns) FILTER (WHERE s.name = 'copy') AS copied, total(r.ns) AS ns
            FROM (SELECT max(1, max(ns / (n - 1))) AS step FROM windows) w, ledger_row r
            JOIN word s ON s.kind = 'state' AND s.number = r.state GROUP BY 1, 2)
        WHERE copied >= 0.8 * ns GROUP BY t)),
x AS (SELECT rate, bytes, expected, link, n, rate / 1e9 AS gb, rate * n / 1e9 AS all_gb,
             rate < 0.75 * expected AS slow FROM seen LEFT JOIN at_once)
SELECT c.seconds AS "waited [s]",
       c.share AS "share [1]",
       x.bytes AS "copied [bytes] @trace",
       x.rate AS "rate of a GPU [bytes/s] @trace",
       x.expected AS "expected of its link [bytes/s] @data/gpu_links.tsv",
       CASE WHEN x.n > 1 THEN x.n END AS "GPUs at once [count]",
       coalesce(printf(', at %.1f GB/s', x.gb), '') AS "_at",
       CASE WHEN x.slow THEN printf(' of about %.0f that %s carries', x.expected / 1e9, x.link)
            WHEN x.expected IS NOT NULL THEN printf(', what %s carries', x.link) ELSE '' END AS "_expected",
       CASE WHEN x.n > 1 AND x.rate IS NOT NULL
            THEN printf('%d GPUs copy at once, together %.1f GB/s', x.n, x.all_gb) ||
                 CASE WHEN x.slow IS NOT 0 AND x.all_gb BETWEEN 47 AND 58
                      THEN ', as much as one PCIe 5.0 x16 link carries: do they share one? '
                      WHEN x.slow IS NOT 0 AND x.all_gb BETWEEN 22 AND 28
                      THEN ', as much as one PCIe 4.0 x16 link carries: do they share one? ' ELSE '. ' END
            ELSE '' END AS "_together",
       CASE WHEN x.slow IS NOT 0 AND x.rate IS NOT NULL
            THEN 'Look at the link: `nvidia-smi -q -d PCIE` (generation and width, now and at most; PCIe 4.0 x16 '
                 || 'carries about 25 GB/s, 5.0 about 52), `nvidia-smi topo -m` and `lspci -tv` (a switch that '
                 || 'GPUs share), `numactl` (memory of the GPU''s own node). ' ELSE '' END AS "_look",
       CASE WHEN c.relative >= 0.33 THEN 'warning' ELSE 'info' END AS "severity",
       c.share * run.seconds AS "gain_seconds"
FROM cause c, run LEFT JOIN x
WHERE c.cause = 'link' AND c.share >= 0.08;
