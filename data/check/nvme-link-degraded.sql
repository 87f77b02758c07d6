-- SPDX-License-Identifier: MIT
-- id: nvme-link-degraded
-- for: check
-- severity: warning
-- title: The NVMe disk {disk} runs at {_now}, and could run at {_could}
-- why: A link with fewer lanes or a lower generation gives that much less: half the lanes, half the bytes a
--   second.
-- fix: Reseat the disk or its cable, or look for a slot with more lanes (lspci -vv -s {pci}: LnkSta against
--   LnkCap); check the slot's setting in the firmware.
-- needs: disk/pci pci/link_width_max pci/link_gen_max
-- source: Linux Documentation/ABI/testing/sysfs-bus-pci (current_link_speed, max_link_speed)
SELECT d.subject AS "disk", d.text AS "pci", w.number AS "lanes [count] @/sys/bus/pci",
       x.number AS "lanes possible [count] @/sys/bus/pci", g.number AS "generation [count] @/sys/bus/pci",
       h.number AS "generation possible [count] @/sys/bus/pci",
       'PCIe ' || CAST(g.number AS INTEGER) || ' with ' || CAST(w.number AS INTEGER) || ' lanes' AS "_now",
       'PCIe ' || CAST(h.number AS INTEGER) || ' with ' || CAST(x.number AS INTEGER) || ' lanes' AS "_could"
FROM fact d
JOIN fact w ON w.kind = 'pci' AND w.subject = d.text AND w.name = 'link_width'
JOIN fact x ON x.kind = 'pci' AND x.subject = d.text AND x.name = 'link_width_max'
JOIN fact g ON g.kind = 'pci' AND g.subject = d.text AND g.name = 'link_gen'
JOIN fact h ON h.kind = 'pci' AND h.subject = d.text AND h.name = 'link_gen_max'
WHERE d.kind = 'disk' AND d.name = 'pci' AND (w.number < x.number OR g.number < h.number);
