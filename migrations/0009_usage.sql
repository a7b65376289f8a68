CREATE TABLE `counted_events` (
	`site_id` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `counters` (
	`site_id` integer NOT NULL,
	`name` text NOT NULL,
	`appid` text NOT NULL,
	`kind` text NOT NULL,
	`outcome` text NOT NULL,
	`count` integer NOT NULL,
	`rose_in` integer NOT NULL,
	PRIMARY KEY(`site_id`, `name`, `appid`, `kind`, `outcome`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `folds` (
	`id` integer PRIMARY KEY NOT NULL,
	`nonces_until` integer,
	`refusals_until` integer,
	`copies` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `home_metrics` (
	`home` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`copy` integer NOT NULL,
	`counters` text NOT NULL,
	`gauges` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `site_metrics` (
	`site_id` integer PRIMARY KEY NOT NULL,
	`copy` integer NOT NULL,
	`counters` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `usage` (
	`site_id` integer NOT NULL,
	`appid` text NOT NULL,
	`operation` text NOT NULL,
	`outcome` text NOT NULL,
	`secret` text NOT NULL,
	`count` integer NOT NULL,
	`last_at` integer NOT NULL,
	`hour` integer NOT NULL,
	PRIMARY KEY(`site_id`, `appid`, `hour`, `operation`, `outcome`, `secret`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `usage_days` (
	`site_id` integer NOT NULL,
	`appid` text NOT NULL,
	`operation` text NOT NULL,
	`outcome` text NOT NULL,
	`secret` text NOT NULL,
	`count` integer NOT NULL,
	`last_at` integer NOT NULL,
	`day` integer NOT NULL,
	PRIMARY KEY(`site_id`, `appid`, `day`, `operation`, `outcome`, `secret`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `refusals` ADD `done` integer;