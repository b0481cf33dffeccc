-- keys that are not declared, where they are frequent enough
--> answered, 1 measurement
--> as eve
--> like SELECT note, count(*) FROM rides GROUP BY note HAVING count(*) > 20
SELECT note, count(*) FROM rides GROUP BY note;

-- beside declared ones
--> answered, 1 measurement
--> as eve
--> like SELECT note, shared, count(*), sum(seats) FROM rides GROUP BY 1, 2 HAVING count(*) > 20
SELECT note, shared, count(*), sum(seats) FROM rides GROUP BY 1, 2;

-- none is frequent enough
--> answered, 1 measurement
--> as eve
--> like SELECT number, count(*) FROM rides GROUP BY 1 HAVING count(*) > 20
SELECT number, count(*) FROM rides GROUP BY 1;

-- without δ
--> refused 55000: has no declared domain
SELECT note, count(*) FROM rides GROUP BY note;
