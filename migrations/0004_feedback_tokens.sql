CREATE TABLE `feedback_configs` (
	`workspace_id` text NOT NULL,
	`key` text NOT NULL,
	`config` text NOT NULL,
	`is_lower_score_better` integer,
	`modified_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `key`)
);
--> statement-breakpoint
CREATE TABLE `feedback_tokens` (
	`hash` text PRIMARY KEY NOT NULL,
	`sealed` text NOT NULL,
	`workspace_id` text NOT NULL,
	`run_id` text NOT NULL,
	`key` text NOT NULL,
	`config` text,
	`project_id` text,
	`start_time` integer,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `feedback_tokens_run` ON `feedback_tokens` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE INDEX `feedback_tokens_expires` ON `feedback_tokens` (`expires_at`);