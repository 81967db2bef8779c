"""Nouns: a line each, read by `lexicon`.

German with article and plural | British / American | kinds. `,-n` in place of a plural is a weak noun, which has that
ending everywhere but in the nominative singular. English plurals that no rule gives follow a colon; `+` marks words
that only have a plural (trousers). The kind `mass` has no plural, `one` hardly any. One German word with two lines is ambiguous: what can
be done with it, by the verbs that want its kind, tells the senses apart.
"""

__all__ = ["NOUNS"]

NOUNS = """
der Mann, Männer               | man:men                               | person
die Frau, Frauen               | woman:women                           | person
das Kind, Kinder               | child:children                        | person
der Junge, -n                  | boy                                   | person
das Mädchen, Mädchen           | girl                                  | person
der Nachbar, -n                | neighbour / neighbor                  | person
die Nachbarin, Nachbarinnen    | neighbour / neighbor                  | person
der Freund, Freunde            | friend                                | person kin
die Freundin, Freundinnen      | friend                                | person kin
der Bruder, Brüder             | brother                               | person kin
die Schwester, Schwestern      | sister                                | person kin
der Vater, Väter               | father                                | person kin one
die Mutter, Mütter             | mother                                | person kin one
der Onkel, Onkel               | uncle                                 | person kin
die Tante, Tanten              | aunt                                  | person kin
der Gast, Gäste                | guest                                 | person
der Lehrer, Lehrer             | teacher                               | person staff
die Lehrerin, Lehrerinnen      | teacher                               | person staff
der Arzt, Ärzte                | doctor                                | person staff doctor
die Ärztin, Ärztinnen          | doctor                                | person staff doctor
der Student, -en               | student                               | person
der Kellner, Kellner           | waiter                                | person staff
der Polizist, -en              | policeman:policemen / police officer  | person staff
der Briefträger, Briefträger   | postman:postmen / mailman:mailmen     | person staff
der Anwalt, Anwälte            | solicitor / attorney                  | person staff
der Schulleiter, Schulleiter   | headmaster / principal                | person staff
der Leiter, Leiter             | manager                               | person staff
der Kunde, -n                  | customer                              | person
der Verkäufer, Verkäufer       | shop assistant / sales clerk          | person staff
der Klempner, Klempner         | plumber                               | person staff
der Fahrer, Fahrer             | driver                                | person staff
der Bürgermeister, Bürgermeister | mayor                               | person staff
der Koch, Köche                | cook                                  | person staff

der Hund, Hunde                | dog                                   | animal
die Katze, Katzen              | cat                                   | animal
das Pferd, Pferde              | horse                                 | animal
der Vogel, Vögel               | bird                                  | animal
die Kuh, Kühe                  | cow                                   | animal
die Schlange, Schlangen        | snake                                 | animal
der Hahn, Hähne                | cockerel / rooster                    | animal

das Haus, Häuser               | house                                 | building home
die Schule, Schulen            | school                                | building
das Schloss, Schlösser         | castle                                | building sight
die Kirche, Kirchen            | church                                | building sight
das Theater, Theater           | theatre / theater                     | building
das Museum, Museen             | museum                                | building sight
das Kino, Kinos                | cinema / movie theater                | building
das Rathaus, Rathäuser         | town hall / city hall                 | building sight
die Brücke, Brücken            | bridge                                | building sight
der Bahnhof, Bahnhöfe          | railway station / train station       | building
die Tankstelle, Tankstellen    | petrol station / gas station          | building
das Einkaufszentrum, Einkaufszentren | shopping centre / mall          | building
der Laden, Läden               | shop / store                          | building shop
die Bank, Banken               | bank                                  | firm
das Gericht, Gerichte          | court                                 | firm
die Firma, Firmen              | firm / company                        | firm
die Universität, Universitäten | university                            | firm
die Straße, Straßen            | street                                | road
die Autobahn, Autobahnen       | motorway / freeway                    | road
der Gehweg, Gehwege            | pavement / sidewalk                   | road
die Kreuzung, Kreuzungen       | junction / intersection               | road
der Parkplatz, Parkplätze      | car park / parking lot                | road
der Hafen, Häfen               | harbour / harbor                      | sight

die Wohnung, Wohnungen         | flat / apartment                      | room home
das Zimmer, Zimmer             | room                                  | room
die Küche, Küchen              | kitchen                               | room
das Wohnzimmer, Wohnzimmer     | living room                           | room
der Keller, Keller             | cellar / basement                     | room
das Büro, Büros                | office                                | room
der Zaun, Zäune                | fence                                 | wall
die Wand, Wände                | wall                                  | wall
die Decke, Decken              | ceiling                               | wall
das Auto, Autos                | car                                   | vehicle
der Lastwagen, Lastwagen       | lorry / truck                         | vehicle
das Fahrrad, Fahrräder         | bicycle                               | vehicle
das Motorrad, Motorräder       | motorbike / motorcycle                | vehicle
der Wohnwagen, Wohnwagen       | caravan / trailer                     | vehicle
der Zug, Züge                  | train                                 | line ride
der Bus, Busse                 | bus                                   | line ride
das Flugzeug, Flugzeuge        | aeroplane / airplane                  | line

das Brot, Brote                | bread                                 | food mass
der Käse, Käse                 | cheese                                | food mass
die Marmelade, Marmeladen      | jam / jelly                           | food mass
der Keks, Kekse                | biscuit / cookie                      | food
der Kuchen, Kuchen             | cake                                  | food
der Apfel, Äpfel               | apple                                 | food
die Birne, Birnen              | pear                                  | food
die Aubergine, Auberginen      | aubergine / eggplant                  | food cooked
die Zucchini, Zucchini         | courgette / zucchini                  | food cooked
die Suppe, Suppen              | soup                                  | food cooked
das Gericht, Gerichte          | dish                                  | food cooked
die Krabbe, Krabben            | prawn / shrimp:shrimp                 | food cooked
der Kaffee, Kaffees            | coffee                                | drink mass
der Tee, Tees                  | tea                                   | drink mass
das Bier, Biere                | beer                                  | drink mass

die Hose, Hosen                | trousers+ / pants+                    | clothes
der Schlafanzug, Schlafanzüge  | pyjamas+ / pajamas+                   | clothes
der Pullover, Pullover         | jumper / sweater                      | clothes
die Weste, Westen              | waistcoat / vest                      | clothes
die Jacke, Jacken              | jacket                                | clothes
der Mantel, Mäntel             | coat                                  | clothes
das Kleid, Kleider             | dress                                 | clothes
die Handtasche, Handtaschen    | handbag / purse                       | thing
der Schmuck, Schmuck           | jewellery / jewelry                   | thing mass

das Buch, Bücher               | book                                  | text book
der Brief, Briefe              | letter                                | text mail
die Zeitung, Zeitungen         | newspaper                             | text book
das Programm, Programme        | programme / program                   | text plan
der Katalog, Kataloge          | catalogue / catalog                   | text mail
das Formular, Formulare        | form                                  | text form
die Rechnung, Rechnungen       | bill / check                          | text bill
der Scheck, Schecks            | cheque / check                        | mail
der Lebenslauf, Lebensläufe    | CV / résumé                           | text mail
der Bericht, Berichte          | report                                | text mail
der Vertrag, Verträge          | contract                              | text form deal
das Rezept, Rezepte            | recipe                                | dish
das Rezept, Rezepte            | prescription                          | medical
die Karte, Karten              | ticket                                | ticket
die Karte, Karten              | map                                   | map
der Führerschein, Führerscheine | driving licence / driver's license   | thing
das Paket, Pakete              | parcel / package                      | mail

der Computer, Computer         | computer                              | device
das Handy, Handys              | mobile phone / cell phone             | device thing
der Fernseher, Fernseher       | television                            | device
die Taschenlampe, Taschenlampen | torch / flashlight                   | device thing
der Herd, Herde                | cooker / stove                        | device
der Staubsauger, Staubsauger   | hoover / vacuum cleaner               | device
die Waschmaschine, Waschmaschinen | washing machine                    | device
der Aufzug, Aufzüge            | lift / elevator                       | fitting
das Schloss, Schlösser         | lock                                  | fitting
der Hahn, Hähne                | tap / faucet                          | fitting
die Birne, Birnen              | light bulb                            | bulb
die Tür, Türen                 | door                                  | fitting opening
das Fenster, Fenster           | window                                | fitting opening
das Tor, Tore                  | gate                                  | opening
der Kofferraum, Kofferräume    | boot / trunk                          | opening
die Motorhaube, Motorhauben    | bonnet / hood                         | opening
der Reifen, Reifen             | tyre / tire                           | part
die Windschutzscheibe, Windschutzscheiben | windscreen / windshield    | part
die Bank, Bänke                | bench                                 | seat
das Sofa, Sofas                | sofa / couch                          | seat
der Stuhl, Stühle              | chair                                 | seat
die Leiter, Leitern            | ladder                                | tool
der Schlüssel, Schlüssel       | key                                   | thing
der Koffer, Koffer             | suitcase                              | thing
die Decke, Decken              | blanket                               | thing
der Kinderwagen, Kinderwagen   | pram / stroller                       | thing
der Mülleimer, Mülleimer       | dustbin / trash can                   | bin
der Müll, Müll                 | rubbish / garbage                     | waste mass
das Benzin, Benzin             | petrol / gas                          | fuel mass

der Film, Filme                | film / movie                          | show
das Fußballspiel, Fußballspiele | football match / soccer game         | show event
das Konzert, Konzerte          | concert                               | show event
die Ausstellung, Ausstellungen | exhibition / exhibit                  | show event
der Ball, Bälle                | ball                                  | toy
der Ball, Bälle                | dance                                 | event
die Sitzung, Sitzungen         | meeting                               | event
der Vortrag, Vorträge          | talk                                  | event
der Urlaub, Urlaube            | holiday / vacation                    | trip
die Reise, Reisen              | journey / trip                        | trip
das Tor, Tore                  | goal                                  | goal
die Schlange, Schlangen        | queue / line                          | queue
die Note, Noten                | mark / grade                          | mark
die Farbe, Farben              | colour / color                        | taste
das Verhalten, Verhalten       | behaviour / behavior                  | taste mass
das Gerücht, Gerüchte          | rumour / rumor                        | talk rumour
der Witz, Witze                | joke                                  | talk
die Frage, Fragen              | question                              | ask
"""
