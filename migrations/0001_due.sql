CREATE TABLE `delivery_events` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`owner` text NOT NULL,
	`event` text NOT NULL,
	`at` integer NOT NULL,
	`receivers` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_at` integer
);
--> statement-breakpoint
CREATE INDEX `delivery_events_due` ON `delivery_events` (`next_at`);--> statement-breakpoint
CREATE INDEX `delivery_events_owner` ON `delivery_events` (`owner`,`at`);--> statement-breakpoint
CREATE INDEX `delivery_events_at` ON `delivery_events` (`at`);--> statement-breakpoint
ALTER TABLE `alerts` ADD `error` text;--> statement-breakpoint
ALTER TABLE `cron_firings` ADD `error` text;--> statement-breakpoint
ALTER TABLE `rule_failures` ADD `trace_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `run_rules` ADD `pauses` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `bulk_exports` ADD `deletions_by` text;--> statement-breakpoint
ALTER TABLE `export_runs` ADD `failed_attempts` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Receivers get ids, by which runs and events that wait know them again.
UPDATE run_rules SET actions = json_set(actions, '$.webhooks', (SELECT json_group_array(json_set(value, '$.id', lower(hex(randomblob(16))))) FROM json_each(actions, '$.webhooks'))) WHERE actions ->> '$.webhooks' IS NOT NULL;--> statement-breakpoint
UPDATE run_rules SET actions = json_set(actions, '$.judges', (SELECT json_group_array(json_set(value, '$.id', lower(hex(randomblob(16))))) FROM json_each(actions, '$.judges'))) WHERE actions ->> '$.judges' IS NOT NULL;--> statement-breakpoint
UPDATE run_rules SET pauses = json_array(json_array(updated_at, NULL)) WHERE is_enabled = 0;--> statement-breakpoint
UPDATE alerts SET channels = (SELECT json_group_array(json_set(value, '$.id', lower(hex(randomblob(16))))) FROM json_each(channels)) WHERE channels <> '[]';--> statement-breakpoint
INSERT INTO delivery_events (id, workspace_id, owner, event, at, receivers, attempts)
SELECT lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))), a.workspace_id, a.id,
  json_object('from', e."from", 'to', e."to", 'value', e.value, 'at', e.at, 'name', a.name, 'projectId', a.project_id, 'filter', a.filter, 'condition', json(a.condition)),
  e.at, '[]', e.attempts FROM alert_events e JOIN alerts a ON a.id = e.alert_id;--> statement-breakpoint
DROP TABLE `alert_events`;
