CREATE TABLE `prompt_commits` (
	`id` text PRIMARY KEY NOT NULL,
	`prompt_id` text NOT NULL,
	`number` integer NOT NULL,
	`hash` text NOT NULL,
	`parent_id` text,
	`parent_hash` text,
	`manifest` text NOT NULL,
	`description` text,
	`author` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_commits_number` ON `prompt_commits` (`prompt_id`,`number`);--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_commits_hash` ON `prompt_commits` (`prompt_id`,`hash`);--> statement-breakpoint
CREATE TABLE `prompt_likes` (
	`prompt_id` text NOT NULL,
	`person` text NOT NULL,
	PRIMARY KEY(`prompt_id`, `person`)
);
--> statement-breakpoint
CREATE TABLE `prompt_tags` (
	`id` text NOT NULL,
	`prompt_id` text NOT NULL,
	`name` text NOT NULL,
	`commit_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`prompt_id`, `name`)
);
--> statement-breakpoint
CREATE TABLE `prompts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`about` text NOT NULL,
	`labels` text NOT NULL,
	`is_archived` integer DEFAULT false NOT NULL,
	`commits` integer DEFAULT 0 NOT NULL,
	`last_hash` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompts_name` ON `prompts` (`workspace_id`,`name`);--> statement-breakpoint
CREATE INDEX `prompts_updated` ON `prompts` (`workspace_id`,`updated_at`);