CREATE ROLE dpsql_reader LOGIN PASSWORD 'choose another';
GRANT USAGE ON SCHEMA public TO dpsql_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO dpsql_reader;
