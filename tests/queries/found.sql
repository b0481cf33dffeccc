-- keys that are not declared, where enough units have them
--> answered, 2 measurements
--> as eve
--> like SELECT note, count(*) FROM rides WHERE note <> 'dispute' GROUP BY note
SELECT note, count(*) FROM rides WHERE note <> 'dispute' GROUP BY note;

-- beside declared ones
--> answered, 2 measurements
--> as eve
--> like SELECT note, shared, count(*), sum(seats) FROM rides WHERE note <> 'CASH' AND note <> 'cash ' AND note <> 'dispute' GROUP BY 1, 2
SELECT note, shared, count(*), sum(seats) FROM rides WHERE note <> 'CASH' AND note <> 'cash ' AND note <> 'dispute' GROUP BY 1, 2;

-- what one unit alone has stays hidden
--> answered, 2 measurements
--> as eve
--> like SELECT number, count(*) FROM rides WHERE number <> 0 GROUP BY 1 HAVING count(*) > 5
SELECT number, count(*) FROM rides WHERE number <> 0 GROUP BY 1;

-- keys alone
--> answered, 1 measurement
--> as eve
--> like SELECT DISTINCT note FROM rides WHERE note <> 'dispute'
SELECT DISTINCT note FROM rides WHERE note <> 'dispute';

-- with an order statistic and distinct units
--> answered, 4 measurements
--> as eve
--> within 1
--> like SELECT note, count(*), median(age), count(DISTINCT rider) FROM rides WHERE note <> 'dispute' GROUP BY note HAVING count(*) > 20
SELECT note, count(*), median(age), count(DISTINCT rider) FROM rides WHERE note <> 'dispute' GROUP BY note HAVING count(*) > 20;

-- without δ
--> refused 55000: has no declared domain
SELECT note, count(*) FROM rides GROUP BY note;
