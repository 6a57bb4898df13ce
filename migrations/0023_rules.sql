CREATE TABLE `rule_backfill_parts` (
	`backfill_id` text NOT NULL,
	`day` text NOT NULL,
	`shard` integer NOT NULL,
	PRIMARY KEY(`backfill_id`, `day`, `shard`)
);
--> statement-breakpoint
CREATE TABLE `rule_backfills` (
	`id` text PRIMARY KEY NOT NULL,
	`rule_id` text NOT NULL,
	`start_time` integer NOT NULL,
	`end_time` integer NOT NULL,
	`created_at` integer NOT NULL,
	`touched_at` integer NOT NULL,
	`completed_at` integer
);
--> statement-breakpoint
CREATE INDEX `rule_backfills_rule` ON `rule_backfills` (`rule_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `rule_failures` (
	`rule_id` text NOT NULL,
	`run_id` text NOT NULL,
	`action` text NOT NULL,
	`error` text NOT NULL,
	`at` integer NOT NULL,
	`is_final` integer NOT NULL,
	PRIMARY KEY(`rule_id`, `run_id`)
);
--> statement-breakpoint
CREATE INDEX `rule_failures_time` ON `rule_failures` (`rule_id`,`at`);--> statement-breakpoint
CREATE INDEX `rule_failures_at` ON `rule_failures` (`at`);--> statement-breakpoint
CREATE TABLE `rule_parts` (
	`rule_id` text NOT NULL,
	`day` text NOT NULL,
	`shard` integer NOT NULL,
	`change` integer NOT NULL,
	`taken` integer NOT NULL,
	`done` integer NOT NULL,
	`failed` integer NOT NULL,
	`cost` real NOT NULL,
	`touched_at` integer NOT NULL,
	PRIMARY KEY(`rule_id`, `day`, `shard`)
);
--> statement-breakpoint
CREATE TABLE `run_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`name` text NOT NULL,
	`filter` text,
	`trace_filter` text,
	`tree_filter` text,
	`sampling_rate` real NOT NULL,
	`is_enabled` integer NOT NULL,
	`actions` text NOT NULL,
	`secrets` text,
	`since` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `run_rules_workspace` ON `run_rules` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `alert_events` (
	`alert_id` text NOT NULL,
	`at` integer NOT NULL,
	`from` text NOT NULL,
	`to` text NOT NULL,
	`value` real,
	`pending` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_at` integer,
	`error` text,
	PRIMARY KEY(`alert_id`, `at`)
);
--> statement-breakpoint
CREATE INDEX `alert_events_next` ON `alert_events` (`next_at`);--> statement-breakpoint
CREATE INDEX `alert_events_at` ON `alert_events` (`at`);--> statement-breakpoint
CREATE TABLE `alerts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`name` text NOT NULL,
	`filter` text,
	`is_enabled` integer NOT NULL,
	`condition` text NOT NULL,
	`channels` text NOT NULL,
	`secrets` text,
	`state` text NOT NULL,
	`streak` integer NOT NULL,
	`value` real,
	`changed_at` integer NOT NULL,
	`evaluated_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `alerts_workspace` ON `alerts` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `alerts_due` ON `alerts` (`is_enabled`,`evaluated_at`);