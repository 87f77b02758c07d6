-- SPDX-License-Identifier: MIT
-- id: ib-errors
-- for: check
-- severity: warning
-- title: {port} counted {errors} transmission errors while it was watched
-- why: Symbol and receive errors come from a bad cable, a dirty connector or a failing
--   transceiver; each costs a retransmission.
-- fix: Clean or replace cable and transceiver: mlxlink -d {_device} -c -e shows the signal; then
--   perfquery -x.
-- needs: ib_port/symbol_error_rise|ib_port/port_rcv_errors_rise
-- source: Linux Documentation/ABI/stable/sysfs-class-infiniband
SELECT subject AS "port @/sys/class/infiniband", sum(number) AS "errors [count] @counters",
       sum(number) FILTER (WHERE name = 'symbol_error_rise') AS "symbol errors [count]",
       sum(number) FILTER (WHERE name = 'port_rcv_errors_rise') AS "receive errors [count]",
       sum(number) FILTER (WHERE name = 'local_link_integrity_errors_rise') AS "integrity errors [count]",
       substr(subject, 1, instr(subject, '/') - 1) AS "_device"
FROM fact WHERE kind = 'ib_port' AND name IN ('symbol_error_rise', 'port_rcv_errors_rise', 'local_link_integrity_errors_rise')
GROUP BY subject HAVING sum(number) >= 10;
