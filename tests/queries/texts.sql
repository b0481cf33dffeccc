-- order, byte by byte
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note > 'b'), count(*) FILTER (WHERE note <= 'cash'), count(*) FILTER (WHERE note BETWEEN 'A' AND 'Z') FROM rides;

-- whatever the case
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note ILIKE 'C%'), count(*) FILTER (WHERE lower(note) = 'cash'), count(*) FILTER (WHERE upper(note) LIKE '%S_'),
  count(*) FILTER (WHERE lower(note) IN ('cash', 'a')), count(*) FILTER (WHERE upper(note) <> 'CASH'),
  count(*) FILTER (WHERE note NOT ILIKE ALL (ARRAY['a%', '%H%'])) FROM rides;

-- texts that are unlike a pattern
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note NOT LIKE 'c%'), count(*) FILTER (WHERE note !~~ '%h'), count(*) FILTER (WHERE note NOT ILIKE 'C%'),
  count(*) FILTER (WHERE note !~~* '%H'), count(*) FILTER (WHERE NOT note NOT LIKE 'c%'), count(*) FILTER (WHERE lower(note) NOT LIKE 'c%'),
  count(*) FILTER (WHERE note NOT IN ('cash')), count(*) FILTER (WHERE note !~* '^C') FROM rides;

-- case beyond ASCII
--> refused 0A000: other small letters beyond ASCII
SELECT count(*) FROM rides WHERE note ILIKE 'É%';

-- other texts in small letters
--> refused 0A000: needs a column whose possible values are declared
SELECT lower(note), count(*) FROM rides GROUP BY 1;

-- simple regular expressions
--> answered, 1 measurement
SELECT count(*) FILTER (WHERE note ~ '^c'), count(*) FILTER (WHERE note ~ 'a.h|^d.*e$'), count(*) FILTER (WHERE note ~* 'C.+H$'),
  count(*) FILTER (WHERE note !~ '\.'), count(*) FILTER (WHERE note ~ '%'), count(*) FILTER (WHERE note ~ '') FROM rides;

-- regular expressions that engines read in their own way
--> refused 0A000: engines read this regular expression otherwise
SELECT count(*) FROM rides WHERE note ~ '^[a-c]+\d';

-- lengths
--> answered, 1 measurement
--> within 0.001
SELECT count(*) FILTER (WHERE length(note) > 3), avg(char_length(note)) FILTER (WHERE length(note) BETWEEN 0 AND 8) FROM rides
WHERE length(note) BETWEEN 0 AND 8;

-- lengths without bounds
--> refused 55000: are not bounded
SELECT avg(length(note)) FROM rides;

-- first letters, where enough units have them
--> answered, 2 measurements
--> as eve
SELECT left(note, 3) AS l, length(note), count(*) FROM rides WHERE note <> 'dispute' AND substring(note FROM 1 FOR 2) <> 'zz'
  AND substr(note, 1, 1) NOT IN ('y', 'z') GROUP BY 1, 2;
