-- SPDX-License-Identifier: MIT
-- id: start-delayed
-- severity: info
-- title: Work was launched, and for {share} of the time the GPU did not begin it
-- why: The launches had returned and nothing ran: the streams waited for something that the trace does
--   not show. No loader, no launching thread and no want of requests stood in the way. What streams
--   still run when a trace begins is not in it.
-- fix: Let the profiler begin some steps earlier (warm-up in its schedule), so that what runs already is
--   in the trace. Else look what the streams wait for: an event of another stream, another process on
--   the GPU, another GPU, or a graph whose kernels the profiler left out.
-- scenario: none
-- source: doc/rules.md#start-delayed
SELECT l.seconds AS "waited [s]",
       l.seconds / run.accelerator_seconds AS "share [1]",
       l.first AS "before the first work of a stream [s]"
FROM run, (SELECT sum(number) FILTER (WHERE name = 'late_seconds') AS seconds,
                  coalesce(sum(number) FILTER (WHERE name = 'late_first_seconds'), 0) AS first
           FROM fact WHERE kind = 'launch') l
WHERE l.seconds >= 0.08 * run.accelerator_seconds;
