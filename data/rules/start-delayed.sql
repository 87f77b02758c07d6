-- SPDX-License-Identifier: MIT
-- id: start-delayed
-- severity: info
-- title: For {share} of the time launched work had not started on the GPU
-- why: The launches had returned and nothing ran: the streams waited for something that the trace
--   does not show. Neither the loader, the launching thread nor a lack of requests explains it.
--   What streams still run when a trace begins is not in it.
-- fix: Start the profiler some steps earlier (warm-up in its schedule), so that what is already
--   running is in the trace. Otherwise look for what the streams wait for: an event of another
--   stream, another process on the GPU, another GPU, or a graph whose kernels the profiler left
--   out.
-- scenario: none
-- source: doc/rules.md#start-delayed
SELECT l.seconds AS "waited [s]",
       l.seconds / run.accelerator_seconds AS "share [1]",
       l.first AS "before the first work of a stream [s]"
FROM run, (SELECT sum(number) FILTER (WHERE name = 'late_seconds') AS seconds,
                  coalesce(sum(number) FILTER (WHERE name = 'late_first_seconds'), 0) AS first
           FROM fact WHERE kind = 'launch') l
WHERE l.seconds >= 0.08 * run.accelerator_seconds;
