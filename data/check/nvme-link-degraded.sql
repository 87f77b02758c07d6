-- SPDX-License-Identifier: MIT
-- id: nvme-link-degraded
-- for: check
-- severity: warning
-- title: The NVMe disk {disk} runs at {_now}, and could run at {_could}
-- why: A link with fewer lanes or a lower generation gives that much less: half the lanes, half the bytes a
--   second.
-- fix: Reseat the disk or its cable (lspci -vv -s {pci}: LnkSta against
--   LnkCap); check the slot's setting in the firmware.
-- needs: disk/pci pci/link_width_max pci/link_gen_max
-- source: Linux Documentation/ABI/testing/sysfs-bus-pci (current_link_speed, max_link_speed)
SELECT d.subject AS "disk", d.text AS "pci", w.number AS "lanes [count] @/sys/bus/pci",
       min(x.number, coalesce(sx.number, x.number)) AS "lanes possible [count] @/sys/bus/pci", g.number AS "generation [count] @/sys/bus/pci",
       min(h.number, coalesce(sh.number, h.number)) AS "generation possible [count] @/sys/bus/pci",
       'PCIe ' || CAST(g.number AS INTEGER) || ' with ' || CAST(w.number AS INTEGER) || ' lanes' AS "_now",
       'PCIe ' || CAST(min(h.number, coalesce(sh.number, h.number)) AS INTEGER) || ' with ' || CAST(min(x.number, coalesce(sx.number, x.number)) AS INTEGER) || ' lanes' AS "_could"
FROM fact d
JOIN fact w ON w.kind = 'pci' AND w.subject = d.text AND w.name = 'link_width'
JOIN fact x ON x.kind = 'pci' AND x.subject = d.text AND x.name = 'link_width_max'
JOIN fact g ON g.kind = 'pci' AND g.subject = d.text AND g.name = 'link_gen'
JOIN fact h ON h.kind = 'pci' AND h.subject = d.text AND h.name = 'link_gen_max'
LEFT JOIN fact sx ON sx.kind = 'pci' AND sx.subject = d.text AND sx.name = 'slot_width_max'
LEFT JOIN fact sh ON sh.kind = 'pci' AND sh.subject = d.text AND sh.name = 'slot_gen_max'
WHERE d.kind = 'disk' AND d.name = 'pci' AND (w.number < min(x.number, coalesce(sx.number, x.number))
  OR g.number < min(h.number, coalesce(sh.number, h.number)));
