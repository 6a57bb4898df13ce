ALTER TABLE `api_keys` ADD `grant_id` text;--> statement-breakpoint
ALTER TABLE `crons` ADD `user` text;