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